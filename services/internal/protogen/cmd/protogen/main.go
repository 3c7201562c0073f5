// Command protogen writes the generated sources that come before buf: the .proto files of every Kubernetes
// kind and the table of kinds. Run it from anywhere; -root names the repository.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/orrery-io/orrery/services/internal/protogen"
)

func main() {
	root := flag.String("root", ".", "root folder of the repository")
	flag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	table, err := protogen.KindsFile()
	if err != nil {
		return fmt.Errorf("render the table of kinds: %w", err)
	}
	return os.WriteFile(filepath.Join(root, "services/internal/kinds/zz_kinds.go"), table, 0o644)
}
