// Package kubernetes stands in for the generated SDK of the same import path: half of the provider's build would compile
// it, and the provider needs three of its names.
package kubernetes

import "reflect"

// UntypedArgs are the properties of any object.
type UntypedArgs map[string]any

// ElementType makes UntypedArgs an input of a resource.
func (UntypedArgs) ElementType() reflect.Type { return reflect.TypeFor[map[string]any]() }
