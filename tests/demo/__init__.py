"""The demo: the life of a schema on a real API server, with real kubectl.

```
    python -m demo          start everything, run the steps, leave it running
    python -m demo down     stop it
```

`narrator` shows commands and checks their results. `stage` has the cluster and the files of the steps. `backstage`
installs the product on a cluster and removes the objects of an earlier run. `ahead` builds and downloads before the
first step. `steps` are steps 1 to 7. `releases` registers the real history that `wheels` fetches. `brokers` needs a
real broker. `quickstart` is a demo in pods. Nothing here is shipped. The steps use only kubectl's view of the product.
"""
