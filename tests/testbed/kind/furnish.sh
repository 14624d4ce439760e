# Runs inside of a Debian with kind's files, as the RUN lines of kind's own Dockerfile do. $1 is the image of pods' sandboxes.
set -eu
cd /lib/systemd/system
rm -f multi-user.target.wants/* local-fs.target.wants/* basic.target.wants/* /etc/systemd/system/*.wants/*
rm -f sockets.target.wants/*udev* sockets.target.wants/*initctl* sysinit.target.wants/systemd-tmpfiles-setup.service
echo ReadKMsg=no >> /etc/systemd/journald.conf
systemctl enable kubelet containerd undo-mount-hacks
systemctl mask systemd-binfmt
ln -s /usr/bin/containerd /usr/local/bin/containerd
mkdir -p /opt/cni /etc/kubernetes/manifests
ln -s /usr/lib/cni /opt/cni/bin
ctr oci spec | jq 'del(.process.rlimits)' > /etc/containerd/cri-base.json
# Without CAP_SYS_RESOURCE nothing can be made less likely to be killed.
sed -i -e 's/restrict_oom_score_adj = false/restrict_oom_score_adj = true/' -e "s|sandbox_image = .*|sandbox_image = \"$1\"|" \
  /etc/containerd/config.toml
