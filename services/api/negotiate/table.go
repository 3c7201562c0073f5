package negotiate

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/api/endpoint"
	"github.com/orrery-io/orrery/services/api/object"
)

// defaultColumns are the table of a kind that has none of its own.
var defaultColumns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]},
	{Name: "Created At", Type: "date", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]},
}

const tableHead = `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":`

// columnsJSON is the columnDefinitions of the kind.
func (v *View) columnsJSON() []byte {
	columns := v.Kind.Columns
	if v.Kind.Row == nil || len(columns) == 0 {
		columns = defaultColumns
	}
	b, err := json.Marshal(columns)
	if err != nil {
		// Definitions are strings and numbers.
		panic("negotiate: " + err.Error())
	}
	return b
}

// row is one row {"cells":[...],"object":...}.
func (v *View) row(f Format, e *object.Entry) ([]byte, error) {
	r := metav1.TableRow{}
	var err error
	if v.Kind.Row != nil && len(v.Kind.Columns) > 0 {
		if r.Cells, err = v.Kind.Row(e.Object); err != nil {
			return nil, fmt.Errorf("making the table row of %s: %w", e.Key, err)
		}
	} else {
		r.Cells = []any{e.Object.GetName(), e.Object.GetCreationTimestamp().UTC().Format(time.RFC3339)}
	}
	switch metav1.IncludeObjectPolicy(f.IncludeObject) {
	case metav1.IncludeNone:
	case metav1.IncludeObject:
		if r.Object.Raw, err = e.JSON(); err != nil {
			return nil, err
		}
	default:
		if r.Object.Raw, err = partial(e).json(); err != nil {
			return nil, err
		}
	}
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encoding the table row of %s: %w", e.Key, err)
	}
	return b, nil
}

// table is the table of one entry.
func (v *View) table(f Format, e *object.Entry) ([]byte, error) {
	return v.tableOf(f, e, true)
}

func (v *View) tableOf(f Format, e *object.Entry, columns bool) ([]byte, error) {
	row, err := v.row(f, e)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, len(tableHead)+len(row)+256)
	b = append(b, tableHead...)
	b = append(b, `{"resourceVersion":"`...)
	b = strconv.AppendInt(b, e.Revision, 10)
	b = append(b, `"},"columnDefinitions":`...)
	if columns {
		b = append(b, v.columns()...)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"rows":[`...)
	b = append(b, row...)
	return append(b, `]}`...), nil
}

func (v *View) tableList(f Format, l *endpoint.ListResult, out *pieces) error {
	m, err := listMeta(l)
	if err != nil {
		return err
	}
	if err := out.add([]byte(tableHead), m, []byte(`,"columnDefinitions":`), v.columns(), []byte(`,"rows":[`)); err != nil {
		return err
	}
	for i, e := range l.Entries {
		row, err := v.row(f, e)
		if err != nil {
			return err
		}
		if i > 0 {
			row = append([]byte{','}, row...)
		}
		if err := out.add(row); err != nil {
			return err
		}
	}
	return out.add([]byte("]}\n"))
}
