package validation

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Job checks a job, after its selector was made.
func Job(j *batchv1.Job) field.ErrorList {
	p, spec := field.NewPath("spec"), &j.Spec
	var errs field.ErrorList
	if spec.Selector == nil {
		errs = append(errs, field.Required(p.Child("selector"), ""))
	} else {
		errs = append(errs, labelSelector(spec.Selector, p.Child("selector"))...)
	}
	if !valueOr(spec.ManualSelector, false) && !generatedSelector(j) {
		errs = append(errs, field.Invalid(p.Child("selector"), spec.Selector, "`selector` not auto-generated"))
	}
	if selector, err := metav1.LabelSelectorAsSelector(spec.Selector); err == nil && !selector.Matches(labels.Set(spec.Template.Labels)) {
		errs = append(errs, field.Invalid(p.Child("template", "metadata", "labels"), spec.Template.Labels, "`selector` does not match template `labels`"))
	}
	return append(errs, jobSpec(spec, p)...)
}

// generatedSelector says whether the selector is the one that is made of the job's uid.
func generatedSelector(j *batchv1.Job) bool {
	s := j.Spec.Selector
	return s != nil && len(s.MatchExpressions) == 0 && s.MatchLabels[batchv1.ControllerUidLabel] == string(j.UID)
}

func jobSpec(spec *batchv1.JobSpec, p *field.Path) field.ErrorList {
	errs := nonNegativePointer(spec.Parallelism, p.Child("parallelism"))
	errs = append(errs, nonNegativePointer(spec.Completions, p.Child("completions"))...)
	errs = append(errs, nonNegativePointer(spec.ActiveDeadlineSeconds, p.Child("activeDeadlineSeconds"))...)
	errs = append(errs, nonNegativePointer(spec.BackoffLimit, p.Child("backoffLimit"))...)
	errs = append(errs, nonNegativePointer(spec.TTLSecondsAfterFinished, p.Child("ttlSecondsAfterFinished"))...)
	errs = append(errs, nonNegativePointer(spec.BackoffLimitPerIndex, p.Child("backoffLimitPerIndex"))...)
	errs = append(errs, nonNegativePointer(spec.MaxFailedIndexes, p.Child("maxFailedIndexes"))...)
	if mode := spec.CompletionMode; mode != nil {
		errs = append(errs, oneOf(*mode, p.Child("completionMode"), batchv1.IndexedCompletion, batchv1.NonIndexedCompletion)...)
		if *mode == batchv1.IndexedCompletion && spec.Completions == nil {
			errs = append(errs, field.Required(p.Child("completions"), fmt.Sprintf("when completion mode is %s", batchv1.IndexedCompletion)))
		}
	}
	if valueOr(spec.CompletionMode, "") != batchv1.IndexedCompletion {
		if spec.BackoffLimitPerIndex != nil {
			errs = append(errs, field.Invalid(p.Child("backoffLimitPerIndex"), *spec.BackoffLimitPerIndex, "requires indexed completion mode"))
		}
		if spec.MaxFailedIndexes != nil {
			errs = append(errs, field.Invalid(p.Child("maxFailedIndexes"), *spec.MaxFailedIndexes, "requires indexed completion mode"))
		}
	}
	if policy := spec.PodReplacementPolicy; policy != nil {
		if spec.PodFailurePolicy != nil {
			errs = append(errs, oneOf(*policy, p.Child("podReplacementPolicy"), batchv1.Failed)...)
		} else {
			errs = append(errs, oneOf(*policy, p.Child("podReplacementPolicy"), batchv1.Failed, batchv1.TerminatingOrFailed)...)
		}
	}
	if by := spec.ManagedBy; by != nil {
		errs = append(errs, validation.IsDomainPrefixedPath(p.Child("managedBy"), *by)...)
	}
	errs = append(errs, podTemplateSpec(&spec.Template, p.Child("template"))...)
	restart := p.Child("template", "spec", "restartPolicy")
	if r := spec.Template.Spec.RestartPolicy; r == corev1.RestartPolicyAlways || r == "" {
		errs = append(errs, field.Required(restart, fmt.Sprintf("valid values: %q, %q", corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)))
	} else {
		errs = append(errs, oneOf(r, restart, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)...)
	}
	if spec.PodFailurePolicy != nil && spec.Template.Spec.RestartPolicy != corev1.RestartPolicyNever {
		errs = append(errs, field.Invalid(restart, spec.Template.Spec.RestartPolicy, fmt.Sprintf("only %q is supported when podFailurePolicy is specified", corev1.RestartPolicyNever)))
	}
	return errs
}

// JobUpdate checks what changed in a job: not which pods it makes, unless it is suspended and made none yet.
func JobUpdate(j, old *batchv1.Job) field.ErrorList {
	p := field.NewPath("spec")
	errs := Job(j)
	elastic := valueOr(j.Spec.CompletionMode, "") == batchv1.IndexedCompletion && valueOr(j.Spec.Completions, -1) == valueOr(j.Spec.Parallelism, -2)
	if !elastic {
		errs = append(errs, unchanged(j.Spec.Completions, old.Spec.Completions, p.Child("completions"))...)
	}
	errs = append(errs, unchanged(j.Spec.Selector, old.Spec.Selector, p.Child("selector"))...)
	template := j.Spec.Template.DeepCopy()
	if valueOr(old.Spec.Suspend, false) && old.Status.StartTime == nil {
		was := &old.Spec.Template
		template.Spec.NodeSelector, template.Spec.Tolerations = was.Spec.NodeSelector, was.Spec.Tolerations
		template.Spec.Affinity = withNodeAffinity(template.Spec.Affinity, was.Spec.Affinity)
		template.Spec.SchedulingGates = was.Spec.SchedulingGates
		template.Labels, template.Annotations = was.Labels, was.Annotations
	}
	errs = append(errs, unchanged(*template, old.Spec.Template, p.Child("template"))...)
	errs = append(errs, unchanged(j.Spec.CompletionMode, old.Spec.CompletionMode, p.Child("completionMode"))...)
	errs = append(errs, unchanged(j.Spec.PodFailurePolicy, old.Spec.PodFailurePolicy, p.Child("podFailurePolicy"))...)
	errs = append(errs, unchanged(j.Spec.BackoffLimitPerIndex, old.Spec.BackoffLimitPerIndex, p.Child("backoffLimitPerIndex"))...)
	errs = append(errs, unchanged(j.Spec.ManagedBy, old.Spec.ManagedBy, p.Child("managedBy"))...)
	return append(errs, unchanged(j.Spec.SuccessPolicy, old.Spec.SuccessPolicy, p.Child("successPolicy"))...)
}

// JobStatus checks a job's new status.
func JobStatus(j, _ *batchv1.Job) field.ErrorList {
	p := field.NewPath("status")
	errs := nonNegative(j.Status.Active, p.Child("active"))
	errs = append(errs, nonNegative(j.Status.Succeeded, p.Child("succeeded"))...)
	return append(errs, nonNegative(j.Status.Failed, p.Child("failed"))...)
}

// maxCronJobName leaves room for the time that is added to the names of jobs.
const maxCronJobName = 52

// CronJob checks a cron job.
func CronJob(c *batchv1.CronJob) field.ErrorList {
	p, spec := field.NewPath("spec"), &c.Spec
	var errs field.ErrorList
	if len(c.Name) > maxCronJobName {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), c.Name, fmt.Sprintf("must be no more than %d characters", maxCronJobName)))
	}
	errs = append(errs, schedule(spec, p)...)
	errs = append(errs, nonNegativePointer(spec.StartingDeadlineSeconds, p.Child("startingDeadlineSeconds"))...)
	errs = append(errs, requiredOneOf(spec.ConcurrencyPolicy, p.Child("concurrencyPolicy"), batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent)...)
	template := p.Child("jobTemplate", "spec")
	if valueOr(spec.JobTemplate.Spec.ManualSelector, false) {
		errs = append(errs, field.NotSupported(template.Child("manualSelector"), true, []string{"nil", "false"}))
	}
	errs = append(errs, jobSpec(&spec.JobTemplate.Spec, template)...)
	errs = append(errs, nonNegativePointer(spec.SuccessfulJobsHistoryLimit, p.Child("successfulJobsHistoryLimit"))...)
	return append(errs, nonNegativePointer(spec.FailedJobsHistoryLimit, p.Child("failedJobsHistoryLimit"))...)
}

func schedule(spec *batchv1.CronJobSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	at := p.Child("schedule")
	switch {
	case spec.Schedule == "":
		errs = append(errs, field.Required(at, ""))
	case strings.Contains(spec.Schedule, "TZ"):
		errs = append(errs, field.Invalid(at, spec.Schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"))
	default:
		if _, err := cron.ParseStandard(spec.Schedule); err != nil {
			errs = append(errs, field.Invalid(at, spec.Schedule, err.Error()))
		}
	}
	zone := spec.TimeZone
	if zone == nil {
		return errs
	}
	at = p.Child("timeZone")
	switch {
	case *zone == "":
		errs = append(errs, field.Invalid(at, *zone, "timeZone must be nil or non-empty string"))
	case strings.EqualFold(*zone, "Local"):
		errs = append(errs, field.Invalid(at, *zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"))
	default:
		if _, err := time.LoadLocation(*zone); err != nil {
			errs = append(errs, field.Invalid(at, *zone, err.Error()))
		}
	}
	return errs
}
