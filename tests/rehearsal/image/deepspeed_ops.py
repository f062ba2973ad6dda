
# ---- added by trainform's rehearsal image ----
# On CPUs DeepSpeed compiles an operator for shared memory in every process before its first collective call. The image has no
# compiler: with the operator marked as not available DeepSpeed takes gloo, as it does on other platforms.
__compatible_ops__["deepspeed_shm_comm"] = False
