// Package v4 has the two options of the provider's Chart component that are objects, in the forms that Pulumi's SDK asks of a
// nested input: the value, the arguments of it, and the output.
package v4

import (
	"context"
	"reflect"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// RepositoryOpts say where a chart's repository is and how it is reached.
type RepositoryOpts struct {
	CaFile   pulumi.AssetOrArchive `pulumi:"caFile"`
	CertFile pulumi.AssetOrArchive `pulumi:"certFile"`
	KeyFile  pulumi.AssetOrArchive `pulumi:"keyFile"`
	Password *string               `pulumi:"password"`
	Repo     *string               `pulumi:"repo"`
	Username *string               `pulumi:"username"`
}

// RepositoryOptsArgs are RepositoryOpts of inputs.
type RepositoryOptsArgs struct {
	CaFile   pulumi.AssetOrArchiveInput `pulumi:"caFile"`
	CertFile pulumi.AssetOrArchiveInput `pulumi:"certFile"`
	KeyFile  pulumi.AssetOrArchiveInput `pulumi:"keyFile"`
	Password pulumi.StringPtrInput      `pulumi:"password"`
	Repo     pulumi.StringPtrInput      `pulumi:"repo"`
	Username pulumi.StringPtrInput      `pulumi:"username"`
}

// RepositoryOptsOutput is a value that comes later.
type RepositoryOptsOutput struct{ *pulumi.OutputState }

// RepositoryOptsInput is either of the two.
type RepositoryOptsInput interface {
	pulumi.Input
	ToRepositoryOptsOutput() RepositoryOptsOutput
	ToRepositoryOptsOutputWithContext(context.Context) RepositoryOptsOutput
}

func (RepositoryOptsArgs) ElementType() reflect.Type   { return reflect.TypeFor[RepositoryOpts]() }
func (RepositoryOptsOutput) ElementType() reflect.Type { return reflect.TypeFor[RepositoryOpts]() }

func (args RepositoryOptsArgs) ToRepositoryOptsOutput() RepositoryOptsOutput {
	return args.ToRepositoryOptsOutputWithContext(context.Background())
}

func (args RepositoryOptsArgs) ToRepositoryOptsOutputWithContext(ctx context.Context) RepositoryOptsOutput {
	return pulumi.ToOutputWithContext(ctx, args).(RepositoryOptsOutput)
}

func (output RepositoryOptsOutput) ToRepositoryOptsOutput() RepositoryOptsOutput { return output }

func (output RepositoryOptsOutput) ToRepositoryOptsOutputWithContext(context.Context) RepositoryOptsOutput {
	return output
}

// PostRenderer is a command that changes the rendered objects.
type PostRenderer struct {
	Args    []string `pulumi:"args"`
	Command string   `pulumi:"command"`
}

// PostRendererArgs are a PostRenderer of inputs.
type PostRendererArgs struct {
	Args    pulumi.StringArrayInput `pulumi:"args"`
	Command pulumi.StringInput      `pulumi:"command"`
}

// PostRendererOutput is a value that comes later.
type PostRendererOutput struct{ *pulumi.OutputState }

// PostRendererInput is either of the two.
type PostRendererInput interface {
	pulumi.Input
	ToPostRendererOutput() PostRendererOutput
	ToPostRendererOutputWithContext(context.Context) PostRendererOutput
}

func (PostRendererArgs) ElementType() reflect.Type   { return reflect.TypeFor[PostRenderer]() }
func (PostRendererOutput) ElementType() reflect.Type { return reflect.TypeFor[PostRenderer]() }

func (args PostRendererArgs) ToPostRendererOutput() PostRendererOutput {
	return args.ToPostRendererOutputWithContext(context.Background())
}

func (args PostRendererArgs) ToPostRendererOutputWithContext(ctx context.Context) PostRendererOutput {
	return pulumi.ToOutputWithContext(ctx, args).(PostRendererOutput)
}

func (output PostRendererOutput) ToPostRendererOutput() PostRendererOutput { return output }

func (output PostRendererOutput) ToPostRendererOutputWithContext(context.Context) PostRendererOutput {
	return output
}

func init() {
	pulumi.RegisterInputType(reflect.TypeFor[RepositoryOptsInput](), RepositoryOptsArgs{})
	pulumi.RegisterOutputType(RepositoryOptsOutput{})
	pulumi.RegisterInputType(reflect.TypeFor[PostRendererInput](), PostRendererArgs{})
	pulumi.RegisterOutputType(PostRendererOutput{})
}
