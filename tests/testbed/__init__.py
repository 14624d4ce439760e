"""The testbed: a Kubernetes control plane, a Pulsar broker and a kind cluster for tests, the demo and benchmarks.

```
    from testbed.controlplane import owned                  # a control plane that dies with this process
    with owned() as plane:                                  # plane.cluster, plane.apiserver, plane.instance
        plane.stop_apiserver(); plane.start_apiserver()     # kill -9 and back, same port, same objects
        plane.apiserver.pause(); plane.apiserver.resume()   # SIGSTOP and SIGCONT: it does not respond
        plane.cluster.kubectl("get", "ns")                  # -> stdout; raises with stderr
        plane.cluster.service_account_kubeconfig("topicschema-system", "topicschema-controller", path)
        program = plane.instance.run("controller", [...], environment={...})    # a child, its log in program.log
        program.kill(); program.start(); program.terminate()

    from testbed import clusters
    instance = Instance.open("demo")                        # detached: it outlives this process, instances.remove
    clusters.start(instance, Progress())                    # its cluster
    from testbed import pulsar                              # a broker in any instance
    broker = pulsar.start(instance, "name", Setup({"isAllowAutoUpdateSchemaEnabled": "false"}, Access.TOKEN))
    broker.admin_url, broker.service_url, broker.credentials    # Setup, Access, Credentials: testbed.pulsar_setup
    broker.call("GET", "/namespaces/public/default")        # as the superuser; `request` returns errors, too
    broker.program.kill(); broker.start()                   # the same ports, the same schemas
    with FaultProxy.before(broker) as proxy:                # testbed.fault_proxy, testbed.broker_faults
        proxy.fault = broker_faults.status(503)

    from testbed import images, nodes
    node = nodes.start(instance, Progress())                # a kind cluster, whose pods really run
    node.load(images.build("operator", Progress()).archive) # Node.inside(command), Node.address: testbed.kind

    from testbed.certificates import Authority              # Authority.at(folder).issue("webhook", ["127.0.0.1"])
    from testbed.install import install_crds, install_manifests
    from testbed import audit                               # audit.requests(cluster.audit_log, user=...)
```

The processes of a test run die with it, also after kill -9 of the run. Each is a child of one supervisor, which holds
a pipe to its owner, and the kernel kills the children when the supervisor dies. A detached instance has a supervisor
of its own. State is stored in the cache folder (`testbed.paths`), never in the checkout. No ambient Kubernetes context
is ever read. Nothing here is shipped. This module imports nothing, so that the supervisor stays small.
"""
