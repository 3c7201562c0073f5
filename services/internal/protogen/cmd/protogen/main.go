// Command protogen writes the generated sources that come before buf: the .proto files of every Kubernetes
// kind and the table of kinds. -root names the repository, the working folder by default.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/orrery-io/orrery/services/internal/protogen"
)

func main() {
	root := flag.String("root", ".", "root folder of the repository")
	flag.Parse()
	if err := protogen.WriteAll(*root); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}
