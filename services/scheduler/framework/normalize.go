package framework

// Normalize scales scores to MinNodeScore..MaxNodeScore by their maximum; reverse makes the smallest the best.
func Normalize(scores []int64, reverse bool) {
	var most int64
	for _, s := range scores {
		most = max(most, s)
	}
	for i, s := range scores {
		if most > 0 {
			s = MaxNodeScore * s / most
		}
		if reverse {
			s = MaxNodeScore - s
		}
		scores[i] = s
	}
}
