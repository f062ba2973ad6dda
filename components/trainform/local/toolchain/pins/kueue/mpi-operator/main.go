// Command mpi-operator runs the controller of mpi-operator with its only server on loopback.
//
// The module's own command listens on every interface of the machine, always elects a leader, and reads its kubeconfig from a
// variable before its option.
package main

import (
	"flag"
	"net/http"
	"os"

	"github.com/kubeflow/mpi-operator/cmd/mpi-operator/app/options"
	client "github.com/kubeflow/mpi-operator/pkg/client/clientset/versioned"
	jobs "github.com/kubeflow/mpi-operator/pkg/client/informers/externalversions"
	"github.com/kubeflow/mpi-operator/pkg/controller"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	volcano "volcano.sh/apis/pkg/client/clientset/versioned"
)

func main() {
	health := flag.String("health-probe-bind-address", "127.0.0.1:8080", "address that answers when the controller has started")
	gangs := flag.String("gang-scheduler-name", "", "volcano: make a gang of every job")
	flag.Parse()
	config := ctrl.GetConfigOrDie()
	config.QPS, config.Burst = 300, 600

	context := ctrl.SetupSignalHandler()
	cluster, mpi := kubernetes.NewForConfigOrDie(config), client.NewForConfigOrDie(config)
	shared, own := informers.NewSharedInformerFactory(cluster, 0), jobs.NewSharedInformerFactory(mpi, 0)
	running, err := controller.NewMPIJobController(
		context, cluster, mpi, volcano.NewForConfigOrDie(config), nil,
		shared.Core().V1().ConfigMaps(), shared.Core().V1().Secrets(), shared.Core().V1().Services(),
		shared.Batch().V1().Jobs(), shared.Core().V1().Pods(), shared.Scheduling().V1().PriorityClasses(),
		own.Kubeflow().V2beta1().MPIJobs(),
		&options.ServerOption{GangSchedulingName: *gangs, ControllerRateLimit: 100, ControllerBurst: 200},
	)
	check(err, "unable to set up the controller")
	shared.Start(context.Done())
	own.Start(context.Done())
	if running.PodGroupCtrl != nil {
		running.PodGroupCtrl.StartInformerFactory(context.Done())
	}
	shared.WaitForCacheSync(context.Done())
	own.WaitForCacheSync(context.Done())
	go func() {
		check(http.ListenAndServe(*health, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})), "unable to listen")
	}()
	check(running.Run(2, context.Done()), "the controller ended")
}

// check ends the process with a reason.
func check(err error, reason string) {
	if err != nil {
		klog.Error(reason, ": ", err)
		klog.Flush()
		os.Exit(1)
	}
}
