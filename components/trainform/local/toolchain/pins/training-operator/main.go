// Command training-operator runs the training operator's own controllers and webhooks with servers on loopback.
//
// The module's own command cannot be told where to listen: its webhook server takes every interface of the machine, and it waits
// for a certificate under /tmp that all users share.
package main

import (
	"flag"
	"os"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/config"
	controllers "github.com/kubeflow/training-operator/pkg/controller.v1"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	"github.com/kubeflow/training-operator/pkg/webhooks"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	kubernetes "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	schedulerplugins "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	volcanoclient "volcano.sh/apis/pkg/client/clientset/versioned"
)

var log = ctrl.Log.WithName("setup")

func main() {
	var schemes controllers.EnabledSchemes
	flag.Var(&schemes, "enable-scheme", "kind of job to serve, in lower case; repeat it for several")
	host := flag.String("host", "127.0.0.1", "address of the webhook server")
	port := flag.Int("webhook-server-port", 9443, "port of the webhook server")
	certificates := flag.String("cert-dir", "", "folder with tls.crt and tls.key of the webhook server")
	health := flag.String("health-probe-bind-address", "0", "address that says whether the webhook server has started")
	gangs := flag.String("gang-scheduler-name", "", "volcano: make a gang of every job")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	config.Config.PyTorchInitContainerImage = config.PyTorchInitContainerImageDefault
	config.Config.PyTorchInitContainerTemplateFile = config.PyTorchInitContainerTemplateFileDefault
	config.Config.PyTorchInitContainerMaxTries = config.PyTorchInitContainerMaxTriesDefault
	config.Config.MPIKubectlDeliveryImage = config.MPIKubectlDeliveryImageDefault

	scheme := runtime.NewScheme()
	utilruntime.Must(kubernetes.AddToScheme(scheme))
	utilruntime.Must(kubeflow.AddToScheme(scheme))
	utilruntime.Must(volcano.AddToScheme(scheme))
	utilruntime.Must(schedulerplugins.AddToScheme(scheme))
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metrics.Options{BindAddress: "0"},
		HealthProbeBindAddress: *health,
		WebhookServer:          webhook.NewServer(webhook.Options{Host: *host, Port: *port, CertDir: *certificates}),
	})
	check(err, "unable to make the manager")
	check(manager.AddHealthzCheck("healthz", healthz.Ping), "unable to say that it lives")
	check(manager.AddReadyzCheck("readyz", manager.GetWebhookServer().StartedChecker()), "unable to say that it is ready")
	setUp(manager, schemes, *gangs)
	check(manager.Start(ctrl.SetupSignalHandler()), "the manager ended")
}

// setUp registers the controllers, with Volcano's gangs or without, and the webhooks.
func setUp(manager ctrl.Manager, schemes controllers.EnabledSchemes, scheduler string) {
	gangs := common.GenNonGangSchedulerSetupFunc()
	if scheduler == string(common.GangSchedulerVolcano) {
		gangs = common.GenVolcanoSetupFunc(volcanoclient.NewForConfigOrDie(manager.GetConfig()))
	}
	for _, kind := range schemes {
		check(controllers.SupportedSchemeReconciler[kind](manager, gangs, 1), "unable to set up the controller of "+kind)
		check(webhooks.SupportedSchemeWebhook[kind](manager), "unable to set up the webhooks of "+kind)
	}
}

// check ends the process with a reason.
func check(err error, reason string) {
	if err != nil {
		log.Error(err, reason)
		os.Exit(1)
	}
}
