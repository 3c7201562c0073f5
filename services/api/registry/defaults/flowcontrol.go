package defaults

import flowcontrolv1 "k8s.io/api/flowcontrol/v1"

// FlowSchema completes a schema.
func FlowSchema(s *flowcontrolv1.FlowSchema) {
	set(&s.Spec.MatchingPrecedence, 1000)
}

// PriorityLevelConfiguration completes a level.
func PriorityLevelConfiguration(p *flowcontrolv1.PriorityLevelConfiguration) {
	if l := p.Spec.Limited; l != nil {
		setPointer(&l.NominalConcurrencyShares, 30)
		setPointer(&l.LendablePercent, 0)
		if q := l.LimitResponse.Queuing; q != nil {
			set(&q.Queues, 64)
			set(&q.HandSize, 8)
			set(&q.QueueLengthLimit, 50)
		}
	}
	if e := p.Spec.Exempt; e != nil {
		setPointer(&e.NominalConcurrencyShares, 0)
		setPointer(&e.LendablePercent, 0)
	}
}
