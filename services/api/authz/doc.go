// Package authz decides whether a user may do what a request asks, by the RBAC objects in the api itself.
//
// One idea: rules are compiled once, when a role or a binding changes, into an index from subject to rules; a request only looks up
// its user and groups. system:masters never reaches the index.
//
// attributes.go says what is asked and how a refusal reads; index.go compiles roles and bindings; rules.go matches a rule;
// authorizer.go keeps the index current by watching; reviews.go answers "may I" questions (SubjectAccessReview and its sisters).
package authz
