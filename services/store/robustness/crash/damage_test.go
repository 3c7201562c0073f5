package crash

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/orrery-io/orrery/services/store/robustness/faultfs/disk"
)

// damages are what happens to files. Each returns false when it would change nothing.
var damages = []struct {
	name string
	do   func(data []byte, rnd *rand.Rand) ([]byte, string)
}{
	{"flip a bit", func(data []byte, rnd *rand.Rand) ([]byte, string) {
		at := place(data, rnd)
		data[at] ^= 1 << rnd.IntN(8)
		return data, fmt.Sprintf("byte %d", at)
	}},
	{"zero a page", func(data []byte, rnd *rand.Rand) ([]byte, string) {
		at := place(data, rnd) / 4096 * 4096
		clear(data[at:min(at+4096, len(data))])
		return data, fmt.Sprintf("at %d", at)
	}},
	{"garble a sector", func(data []byte, rnd *rand.Rand) ([]byte, string) {
		at := place(data, rnd) / 512 * 512
		for i := at; i < min(at+512, len(data)); i++ {
			data[i] = byte(rnd.Uint32())
		}
		return data, fmt.Sprintf("at %d", at)
	}},
	{"cut the end", func(data []byte, rnd *rand.Rand) ([]byte, string) {
		at := place(data, rnd)
		return data[:at], fmt.Sprintf("at %d", at)
	}},
	{"empty it", func(data []byte, _ *rand.Rand) ([]byte, string) { return data[:0], "" }},
	{"swap two pages", func(data []byte, rnd *rand.Rand) ([]byte, string) {
		pages := len(data) / 4096
		if pages < 2 {
			return nil, ""
		}
		a, b := min(place(data, rnd)/4096, pages-1)*4096, rnd.IntN(pages)*4096
		for i := range 4096 {
			data[a+i], data[b+i] = data[b+i], data[a+i]
		}
		return data, fmt.Sprintf("%d and %d", a, b)
	}},
}

// place is somewhere in a file, mostly where it has been written to: a new segment of a log is long and empty.
func place(data []byte, rnd *rand.Rand) int {
	if end := len(bytes.TrimRight(data, "\x00")); end > 0 && rnd.IntN(8) > 0 {
		return rnd.IntN(end)
	}
	return rnd.IntN(len(data))
}

// TestDamagedFiles damages each file of a data folder, at places all over it, and opens a member on it: it has everything, or
// refuses with a message that names the file and what to do.
func TestDamagedFiles(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir, known := image(t, kind)
			files := filesOf(t, dir)
			image := disk.New()
			if err := image.Load(dir); err != nil {
				t.Fatal(err)
			}
			times := 2
			if *all {
				times = 60
			}
			c := &checker{t: t, kind: kind}
			started, refused := 0, 0
			for _, f := range files {
				for d := range damages {
					n := times
					if damages[d].name == "empty it" {
						n = 1
					}
					for i := range n {
						rnd := rand.New(rand.NewPCG(*seed, uint64(i*len(damages)+d)))
						did, err := damageAndOpen(t, c, image, f, d, rnd, known)
						switch {
						case did == "":
						case err == nil:
							started++
						case errors.Is(err, errRefused):
							refused++
						default:
							t.Errorf("%s, %s %s: %v", f, damages[d].name, did, err)
						}
					}
				}
			}
			t.Logf("%d files, %d damages: %d did not matter, %d were refused", len(files), started+refused, started, refused)
		})
	}
}

// errRefused is a refusal as it should be.
var errRefused = errors.New("refused")

func filesOf(t testing.TB, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(dir, p)
			files = append(files, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func damageAndOpen(t *testing.T, c *checker, image *disk.Disk, file string, d int, rnd *rand.Rand, known *expectation) (did string, err error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	defer os.RemoveAll(dir)
	if err := image.Save(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, file)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) == 0 {
		return "", nil
	}
	data, where := damages[d].do(data, rnd)
	if data == nil {
		return "", nil
	}
	if err := rewrite(path, data); err != nil {
		t.Fatal(err)
	}
	did = "(" + where + ")"
	err = c.open(t.Context(), memberConfig{Name: "one", Dir: filepath.Join(dir, "data"), LogStore: c.kind}, known)
	if err == nil {
		return did, nil
	}
	if c.proc == nil { // it died or hangs
		return did, err
	}
	msg := err.Error()
	named := strings.Contains(msg, filepath.Base(file)) || strings.Contains(msg, filepath.Base(filepath.Dir(file)))
	helps := strings.Contains(msg, "OPERATIONS.md") || strings.Contains(msg, "restore") || strings.Contains(msg, "use another folder")
	if strings.Contains(msg, "it does not start") && named && helps {
		return did, fmt.Errorf("%w: %w", errRefused, err)
	}
	return did, err
}

// rewrite replaces the content of a file and leaves holes where there are zeros.
func rewrite(path string, data []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for at := 0; at < len(data); at += 4096 {
		piece := data[at:min(at+4096, len(data))]
		if len(bytes.TrimRight(piece, "\x00")) == 0 {
			continue
		}
		if _, err := f.WriteAt(piece, int64(at)); err != nil {
			return err
		}
	}
	return errors.Join(f.Truncate(int64(len(data))), f.Close())
}
