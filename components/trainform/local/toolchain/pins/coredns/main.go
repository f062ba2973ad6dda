// Command coredns answers the names of a sandbox's Services and pods, and passes on all others.
//
// The module's own command has 60 plugins, the clients of cloud services among them.
package main

import (
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loop"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
)

func main() {
	dnsserver.Directives = []string{"bind", "errors", "cache", "loop", "kubernetes", "forward"}
	coremain.Run()
}
