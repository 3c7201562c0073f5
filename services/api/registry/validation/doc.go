// Package validation says what is wrong with an object, in Kubernetes' words, since people and scripts match on them.
//
// One idea: a function per part of an object, named after the part, that takes the part and its field path and returns every error
// found, so that a user sees all of them at once. Exported functions take whole objects, after defaulting; metadata is not
// their concern, except where a kind has rules of its own for it. An update is checked by the kind's function and by its Update function, which
// knows what may not change. podspec.go is where to begin: most kinds contain a pod template.
package validation

import (
	"fmt"
	"path"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Texts that many checks share.
const (
	negative    = "must be greater than or equal to 0"
	notPositive = "must be greater than zero"
	immutable   = "field is immutable"
	fileMode    = "must be a number between 0 and 0777 (octal), both inclusive"
)

// invalid is an error for each message.
func invalid(p *field.Path, value any, messages []string) field.ErrorList {
	var errs field.ErrorList
	for _, m := range messages {
		errs = append(errs, field.Invalid(p, value, m))
	}
	return errs
}

func dnsLabel(value string, p *field.Path) field.ErrorList {
	return invalid(p, value, validation.IsDNS1123Label(value))
}

func dnsSubdomain(value string, p *field.Path) field.ErrorList {
	return invalid(p, value, validation.IsDNS1123Subdomain(value))
}

// required is an error when the value is empty.
func required(value string, p *field.Path) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	return nil
}

// oneOf is an error unless the value is among the supported ones.
func oneOf[T ~string](value T, p *field.Path, supported ...T) field.ErrorList {
	for _, s := range supported {
		if value == s {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(p, value, supported)}
}

// requiredOneOf is oneOf with an error of its own for the empty value.
func requiredOneOf[T ~string](value T, p *field.Path, supported ...T) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	return oneOf(value, p, supported...)
}

func nonNegative[T ~int32 | ~int64](value T, p *field.Path) field.ErrorList {
	return apivalidation.ValidateNonnegativeField(int64(value), p)
}

func nonNegativePointer[T ~int32 | ~int64](value *T, p *field.Path) field.ErrorList {
	if value == nil {
		return nil
	}
	return nonNegative(*value, p)
}

func unchanged(value, old any, p *field.Path) field.ErrorList {
	return apivalidation.ValidateImmutableField(value, old, p)
}

// countOrPercent accepts numbers from 0 and percentages.
func countOrPercent(v *intstr.IntOrString, p *field.Path) field.ErrorList {
	switch {
	case v == nil:
		return nil
	case v.Type == intstr.String:
		return invalid(p, *v, validation.IsValidPercent(v.StrVal))
	case v.Type == intstr.Int:
		return nonNegative(v.IntVal, p)
	default:
		return field.ErrorList{field.Invalid(p, *v, "must be an integer or percentage (e.g '5%%')")}
	}
}

// atMostAll refuses percentages over 100.
func atMostAll(v *intstr.IntOrString, p *field.Path) field.ErrorList {
	if percent, ok := percentage(v); ok && percent > 100 {
		return field.ErrorList{field.Invalid(p, *v, "must not be greater than 100%")}
	}
	return nil
}

func percentage(v *intstr.IntOrString) (int, bool) {
	if v == nil || v.Type != intstr.String || len(validation.IsValidPercent(v.StrVal)) > 0 {
		return 0, false
	}
	var n int
	if _, err := fmt.Sscanf(v.StrVal, "%d%%", &n); err != nil {
		return 101, true // more digits than an int has
	}
	return n, true
}

// isZero tells 0 and 0% from everything else.
func isZero(v *intstr.IntOrString) bool {
	if v == nil {
		return false
	}
	if percent, ok := percentage(v); ok {
		return percent == 0
	}
	return v.Type == intstr.Int && v.IntVal == 0
}

// localPath accepts relative paths that do not leave their directory.
func localPath(value string, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if path.IsAbs(value) {
		errs = append(errs, field.Invalid(p, value, "must be a relative path"))
	}
	return append(errs, noBacksteps(value, p)...)
}

// localFile accepts a localPath that no reserved name begins: volumes keep their own files under names with two dots.
func localFile(value string, p *field.Path) field.ErrorList {
	errs := localPath(value, p)
	if strings.HasPrefix(value, "..") && !strings.HasPrefix(value, "../") {
		errs = append(errs, field.Invalid(p, value, "must not start with '..'"))
	}
	return errs
}

func noBacksteps(value string, p *field.Path) field.ErrorList {
	for _, part := range strings.Split(value, "/") {
		if part == ".." {
			return field.ErrorList{field.Invalid(p, value, "must not contain '..'")}
		}
	}
	return nil
}
