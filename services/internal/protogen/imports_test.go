package protogen

// Every generated package, so that its messages are registered for the tests to find by name.
import (
	_ "github.com/orrery-io/orrery/gen/go/orrery/admissionregistration/v1"
	_ "github.com/orrery-io/orrery/gen/go/orrery/apiextensions/v1"
	_ "github.com/orrery-io/orrery/gen/go/orrery/apps/v1"
	_ "github.com/orrery-io/orrery/gen/go/orrery/authentication/v1"
	_ "github.com/orrery-io/orrery/gen/go/orrery/authorization/v1"
	_ "github.com/orrery-io/orrery/gen/go/orrery/autoscaling/v1"
	_ "github.com/orrery-io/orrery/gen/go/orrery/autoscaling/v2"
	_ "github.com/orrery-io/orrery/gen/go/orrery/batch/v1"
	_ "github.com/orrery-io/orrery/gen/go/orrery/certificates/v1"
	_ "github.com/orrery-io/orrery/gen/go/orrery/coordination/v1"
	_ "github.com/orrery-io/orrery/gen/go/orrery/core/v1"
	_ "github.com/orrery-io/orrery/gen/go/orrery/discovery/v1"
	_ "github.com/orrery-io/orrery/gen/go/orrery/events/v1"
	_ "github.com/orrery-io/orrery/gen/go/orrery/flowcontrol/v1"
	_ "github.com/orrery-io/orrery/gen/go/orrery/meta/v1"
	_ "github.com/orrery-io/orrery/gen/go/orrery/networking/v1"
	_ "github.com/orrery-io/orrery/gen/go/orrery/policy/v1"
	_ "github.com/orrery-io/orrery/gen/go/orrery/rbac/v1"
	_ "github.com/orrery-io/orrery/gen/go/orrery/resource/v1"
	_ "github.com/orrery-io/orrery/gen/go/orrery/runtimeclass/v1"
	_ "github.com/orrery-io/orrery/gen/go/orrery/scheduling/v1"
	_ "github.com/orrery-io/orrery/gen/go/orrery/scheduling/v1alpha3"
	_ "github.com/orrery-io/orrery/gen/go/orrery/storage/v1"
)
