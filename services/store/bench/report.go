package main

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"time"
)

// results are the measures of all turns.
type results struct{ by map[[2]string][]measure }

func newResults() *results { return &results{by: map[[2]string][]measure{}} }

func (r *results) add(kind, name string, m measure) {
	k := [2]string{kind, name}
	r.by[k] = append(r.by[k], m)
}

// line is what a case prints. Rates are operations a second (events a second for watches), rss is megabytes.
func (r *results) line(name string, members int) string {
	a, b := r.by[[2]string{"orrery", name}], r.by[[2]string{"etcd", name}]
	var line any
	if name == "rss" {
		bytes := func(m measure) int64 { return m.bytes }
		orrery, etcd := median(a, bytes), median(b, bytes)
		line = struct {
			Name     string  `json:"name"`
			Members  int     `json:"members"`
			OrreryMB float64 `json:"orrery_mb"`
			EtcdMB   float64 `json:"etcd_mb"`
			Ratio    float64 `json:"ratio"`
		}{name, members, round(float64(orrery) / (1 << 20)), round(float64(etcd) / (1 << 20)), ratio(float64(etcd), float64(orrery))}
	} else {
		rate := func(m measure) float64 { return m.perSecond }
		p99 := func(m measure) time.Duration { return m.p99 }
		orrery, etcd := median(a, rate), median(b, rate)
		line = struct {
			Name         string  `json:"name"`
			Members      int     `json:"members"`
			OrreryPerSec float64 `json:"orrery_per_s"`
			EtcdPerSec   float64 `json:"etcd_per_s"`
			Ratio        float64 `json:"ratio"`
			OrreryP99    float64 `json:"orrery_p99_ms"`
			EtcdP99      float64 `json:"etcd_p99_ms"`
		}{name, members, math.Round(orrery), math.Round(etcd), ratio(orrery, etcd), round(ms(median(a, p99))), round(ms(median(b, p99)))}
	}
	out, err := json.Marshal(line)
	if err != nil {
		return err.Error() // no such field can fail
	}
	return string(out)
}

func median[T cmp.Ordered](all []measure, of func(measure) T) (m T) {
	var xs []T
	for _, x := range all {
		xs = append(xs, of(x))
	}
	if len(xs) == 0 {
		return m
	}
	slices.Sort(xs)
	return xs[len(xs)/2]
}

// ratio is 0 when one side was not measured.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return round(a / b)
}

func round(x float64) float64 { return math.Round(x*100) / 100 }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
