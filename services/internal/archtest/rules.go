package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	module = "github.com/orrery-io/orrery"

	// maxLines is where a file must have been split.
	maxLines = 600
)

// source is one Go file as far as the rules care.
type source struct {
	path     string // slash path from the repository's root
	pkg      string
	doc      bool // carries the package comment
	lines    int
	imports  []string
	sleepsAt []int // lines that call time.Sleep
}

func (s source) test() bool      { return strings.HasSuffix(s.path, "_test.go") }
func (s source) generated() bool { return strings.HasPrefix(path.Base(s.path), "zz_") }

// load parses every Go file of the main module below root; nested modules answer for themselves.
func load(root string) ([]source, error) {
	var out []source
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules" || rel == "gen") {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && rel != "." {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		s, err := parse(rel, content)
		out = append(out, s)
		return err
	})
	return out, err
}

func parse(rel string, content []byte) (source, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, rel, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	s := source{path: rel, pkg: f.Name.Name, doc: f.Doc != nil, lines: fset.File(f.Pos()).LineCount()}
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return source{}, fmt.Errorf("%s: import %s: %w", rel, i.Path.Value, err)
		}
		s.imports = append(s.imports, p)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Sleep" {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" {
				s.sleepsAt = append(s.sleepsAt, fset.Position(n.Pos()).Line)
			}
		}
		return true
	})
	return s, nil
}

// check returns every breach, each as "file: what is wrong; what to do".
func check(files []source) []string {
	var out []string
	say := func(s source, format string, args ...any) {
		out = append(out, s.path+": "+fmt.Sprintf(format, args...))
	}
	documented, first := map[string]bool{}, map[string]source{}
	for _, s := range files {
		dir := path.Dir(s.path)
		if !strings.HasPrefix(s.path, "services/") {
			say(s, "Go code lives below services/ (generated code below gen/)")
			continue
		}
		if s.lines > maxLines && !s.generated() {
			say(s, "%d lines; split it before %d", s.lines, maxLines)
		}
		if s.pkg == "util" || s.pkg == "utils" {
			say(s, "package %s says nothing about its content; name it after its one idea", s.pkg)
		}
		for _, i := range s.imports {
			if why := forbidden(s, i); why != "" {
				say(s, "imports %s: %s", i, why)
			}
		}
		if s.test() {
			for _, line := range s.sleepsAt {
				say(s, "line %d calls time.Sleep; wait on a channel, a watch or an injected clock", line)
			}
			continue
		}
		documented[dir] = documented[dir] || s.doc
		if _, ok := first[dir]; !ok {
			first[dir] = s
		}
	}
	for dir, s := range first {
		if !documented[dir] {
			say(s, "the package has no package comment; add a doc.go that says what it holds, its one idea, which file to open next")
		}
	}
	slices.Sort(out)
	return out
}

// pure are the packages whose result must follow from their input alone, and what would break that: every member
// of the store applies the same entries and must arrive at the same state.
var pure = map[string][]string{
	"services/store/mvcc": {"time", "math/rand", "math/rand/v2", "crypto/rand", "os", "net", "context"},
}

// exceptions are the imports between services that the design asks for.
var exceptions = map[string][]string{
	"api": {"services/store/client", "services/store/kv"}, // the only client of the store
}

// testExceptions are further imports between services that tests may use.
var testExceptions = map[string][]string{
	"api": {"services/store/memory"}, // the store's interface in memory, for tests of what stands on it
}

// forbidden says why a file must not import a package, or "".
func forbidden(s source, imported string) string {
	for _, system := range []string{"k8s.io/kubernetes", "k8s.io/apiserver"} {
		if within(imported, system) {
			return "that is the system being built here"
		}
	}
	if !s.test() && slices.Contains(pure[path.Dir(s.path)], imported) {
		return "this package is deterministic: no clocks, no randomness, no I/O"
	}
	rel, ours := strings.CutPrefix(imported, module+"/")
	if !ours {
		return ""
	}
	owner := service(s.path)
	if owner == "orrery" {
		return "" // main puts everything together
	}
	if within(rel, "gen/go/orrery/store") && owner != "store" {
		return "only services/store speaks the store's protocol; api goes through services/store/client"
	}
	if within(rel, "gen") {
		return ""
	}
	target := service(rel)
	switch {
	case owner == "internal" && (target == "internal" || within(s.path, "services/internal/cluster")):
		return ""
	case owner == "internal":
		return "what services share must not know a service"
	case target == owner || target == "internal":
		return ""
	}
	allowed := exceptions[owner]
	if s.test() {
		allowed = slices.Concat(allowed, testExceptions[owner])
	}
	for _, dir := range allowed {
		if within(rel, dir) {
			return ""
		}
	}
	return fmt.Sprintf("service %s must not know service %s; services meet only through the API's objects", owner, target)
}

// service is the X of services/X/...
func service(rel string) string {
	parts := strings.Split(rel, "/")
	if len(parts) < 2 || parts[0] != "services" {
		return ""
	}
	return parts[1]
}

func within(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }
