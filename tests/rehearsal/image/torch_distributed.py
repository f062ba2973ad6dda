
# ---- added by trainform's rehearsal image: Debian's build of torch made to behave like the wheels that training images have ----
# Debian builds without libuv, which TCPStore takes by default since torch 2.4 ("use_libuv was requested but PyTorch was build without
# libuv support"); USE_LIBUV=0 reaches only some of the callers. And it builds with MPI, which accelerate then prefers to gloo on CPUs.
if is_available():
    def _without_libuv(self, *args, _init=TCPStore.__init__, **kwargs):
        _init(self, *args, **{**kwargs, "use_libuv": False})

    TCPStore.__init__ = _without_libuv
    distributed_c10d._MPI_AVAILABLE = False
