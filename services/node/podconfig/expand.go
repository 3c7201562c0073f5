package podconfig

import "strings"

// Expand replaces $(NAME) by the variable of that name. A reference to a variable that lookup does not have stays as it is, and $$ is a dollar
// sign, so $$(NAME) is never a reference.
func Expand(s string, lookup func(name string) (string, bool)) string {
	if !strings.Contains(s, "$") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '$' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		switch s[i+1] {
		case '$':
			b.WriteByte('$')
			i++
		case '(':
			end := strings.IndexByte(s[i:], ')')
			if end < 0 {
				b.WriteByte('$')
				continue
			}
			reference := s[i : i+end+1]
			if value, ok := lookup(reference[2 : len(reference)-1]); ok {
				b.WriteString(value)
			} else {
				b.WriteString(reference)
			}
			i += end
		default:
			b.WriteByte('$')
		}
	}
	return b.String()
}
