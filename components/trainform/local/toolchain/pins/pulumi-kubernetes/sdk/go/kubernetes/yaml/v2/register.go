// Package v2 registers the objects that the provider's own components (ConfigFile, ConfigGroup, Directory, Chart) render.
package v2

import (
	"fmt"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

type object struct{ pulumi.CustomResourceState }

// RegisterResource registers an object of any kind by its token.
func RegisterResource(ctx *pulumi.Context, apiVersion, kind, name string, props pulumi.Input,
	opts ...pulumi.ResourceOption) (pulumi.CustomResource, error) {
	if !strings.Contains(apiVersion, "/") {
		apiVersion = "core/" + apiVersion
	}
	registered := &object{}
	err := ctx.RegisterResource(fmt.Sprintf("kubernetes:%s:%s", apiVersion, kind), name, props, registered, opts...)
	return registered, err
}
