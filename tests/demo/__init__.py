"""The demo: a schema's life on a real API server, performed with real kubectl.

    python -m demo          bring everything up, perform the steps, leave it running
    python -m demo down     end what it left running

`narrator` shows commands and checks what they did; `stage` is where the steps play; `backstage` puts the product on a
cluster and clears away what an earlier run left; `ahead` builds and downloads before it all; `steps` are the
performance; `releases` plays the real history that `wheels` fetches, `brokers` plays before a real broker, where one
can be had. `quickstart` is another performance, in pods. Nothing here is shipped, and nothing here
knows more of the product than kubectl shows.
"""
