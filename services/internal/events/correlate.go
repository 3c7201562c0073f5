package events

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
)

// The limits of Kubernetes' own event correlation.
const (
	// remembered bounds each of the three tables.
	remembered = 4096
	// More than maxSimilar different messages that are alike in all else, within similarWindow, become one.
	maxSimilar    = 10
	similarWindow = 10 * time.Minute
	// One source may write burst events about one object, then one every refill.
	burst  = 25
	refill = 5 * time.Minute
)

// verdict is what becomes of an event.
type verdict struct {
	drop bool
	// event to write; its Count says how often it happened.
	event *corev1.Event
	// name of the earlier event to count on; "" makes a new one.
	name string
	key  string
}

// correlator belongs to the goroutine that writes.
type correlator struct {
	clock   clock.PassiveClock
	similar *lru.Cache // what is alike but for the message -> *group
	seen    *lru.Cache // what is alike with the message -> *counted
	buckets *lru.Cache // source and object -> *bucket
}

type group struct {
	messages map[string]struct{}
	last     time.Time
}

type counted struct {
	name  string
	count int32
	first metav1.Time
}

type bucket struct {
	tokens float64
	last   time.Time
}

func newCorrelator(c clock.PassiveClock) *correlator {
	return &correlator{clock: c, similar: lru.New(remembered), seen: lru.New(remembered), buckets: lru.New(remembered)}
}

func (c *correlator) judge(event *corev1.Event) verdict {
	source := strings.Join([]string{event.Source.Component, event.Source.Host,
		event.InvolvedObject.Kind, event.InvolvedObject.Namespace, event.InvolvedObject.Name, string(event.InvolvedObject.UID), event.InvolvedObject.APIVersion}, "\x00")
	alike := strings.Join([]string{source, event.Type, event.Reason, event.ReportingController}, "\x00")
	key := alike + "\x00" + event.InvolvedObject.FieldPath + "\x00" + event.Message
	if c.flood(alike, event.Message) {
		event.Message = "(combined from similar events): " + event.Message
		key = alike
	}
	if !c.allow(source) {
		return verdict{drop: true}
	}
	v := verdict{event: event, key: key}
	if known, ok := c.seen.Get(key); ok {
		before := known.(*counted)
		event.Count, event.FirstTimestamp, v.name = before.count+1, before.first, before.name
	}
	return v
}

// stored records the outcome of a verdict.
func (c *correlator) stored(v verdict, event *corev1.Event) {
	c.seen.Add(v.key, &counted{name: event.Name, count: v.event.Count, first: v.event.FirstTimestamp})
}

// flood tells whether too many messages of this sort came lately.
func (c *correlator) flood(alike, message string) bool {
	now := c.clock.Now()
	g := &group{messages: map[string]struct{}{}}
	if known, ok := c.similar.Get(alike); ok {
		if k := known.(*group); now.Sub(k.last) <= similarWindow {
			g = k
		}
	}
	g.last = now
	_, had := g.messages[message]
	if !had && len(g.messages) < maxSimilar {
		g.messages[message], had = struct{}{}, true
	}
	c.similar.Add(alike, g)
	return !had
}

// allow takes a token of the source's bucket.
func (c *correlator) allow(source string) bool {
	now := c.clock.Now()
	b := &bucket{tokens: burst, last: now}
	if known, ok := c.buckets.Get(source); ok {
		b = known.(*bucket)
		b.tokens = min(burst, b.tokens+float64(now.Sub(b.last))/float64(refill))
		b.last = now
	}
	c.buckets.Add(source, b)
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
