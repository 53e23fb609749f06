// Serves the same series as bench/scrape-http.ts with client_golang, on a free port of this machine, which it prints.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

func main() {
	routers, _ := strconv.Atoi(os.Args[1])
	families, _ := strconv.Atoi(os.Args[2])
	samples, _ := strconv.Atoi(os.Args[3])
	registry := prometheus.NewRegistry()
	for family := range families {
		gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: fmt.Sprintf("router_family_%d_bytes", family),
			Help: "A family.",
		}, []string{"router", "site", "interface"})
		registry.MustRegister(gauge)
		for router := range routers {
			for sample := range samples {
				gauge.WithLabelValues(
					fmt.Sprintf("router-%d", router), fmt.Sprintf("site-%d", router%50), fmt.Sprintf("net%d", sample),
				).Set(float64(router*1000 + family*10 + sample))
			}
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	_ = http.Serve(listener, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
}
