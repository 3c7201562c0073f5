// Package negotiate turns objects into the bodies that HTTP clients ask for, and their bodies into objects.
//
// One idea: an answer is a sequence of byte slices. What an object's entry already holds encoded (its stored protobuf, its JSON) is
// put into lists, watch frames and envelopes as it is; only the frame around it is written per request.
//
// accept.go reads the Accept header into a Format; decode.go reads request bodies, with Kubernetes' field validation and its texts;
// options.go reads query parameters. document.go encodes one object, list.go a list in pieces, frames.go watch events. table.go and
// partial.go make the two views that clients can ask for instead of whole objects: Table and PartialObjectMetadata.
package negotiate
