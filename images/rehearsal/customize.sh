# Runs as root inside the finished tree.

# trainform's containers call `python` as training images do.
ln -s python3 /usr/bin/python
useradd --create-home --uid 1000 --shell /bin/bash trainer

# sshd gets its host key from the plan; with keys of its own it would start without.
rm -f /etc/ssh/ssh_host_*
mkdir -p /run/sshd

# Every container would compile them again at each import; torch.distributed has changed since apt compiled it.
python3 -m compileall -q -j 0 /usr/local/lib/python3.13/dist-packages /usr/lib/python3/dist-packages/torch/distributed
