// Package warning carries what the api wants to tell a user without stopping them: the Warning headers of a response.
//
// recorder.go is all there is: a front end puts a recorder into the context, anything behind it adds to it.
package warning
