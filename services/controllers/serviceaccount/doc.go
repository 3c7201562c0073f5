// Package serviceaccount sees to it that every namespace has its service account "default", which pods run as unless they name another.
//
// serviceaccount.go has all of it.
package serviceaccount
