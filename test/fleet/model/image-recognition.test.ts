import t from "tap";
import { loadEmbeddedKnowledgeBase } from "../../../src/fleet/drivers/knowledge-base-files.ts";
import { createImageRecognizer, parseImageReference, registryOf } from "../../../src/fleet/model/image-recognition.ts";

const { recognize } = createImageRecognizer(loadEmbeddedKnowledgeBase());

t.test("images are recognised by whole path segments, whatever registry and mirror", async (t) => {
  const cases: readonly (readonly [string, string, string])[] = [
    ["quay.io/jetstack/cert-manager-controller:v1.13.2", "cert-manager", "1.13.2"],
    ["harbor.example:5000/mirror/quay.io/jetstack/cert-manager-controller:v1.13.2", "cert-manager", "1.13.2"],
    ["quay.io/jetstack/cert-manager-controller:v1.13.2@sha256:0123456789abcdef", "cert-manager", "1.13.2"],
    ["registry.k8s.io/ingress-nginx/controller@sha256:0123456789abcdef", "ingress-nginx", ""],
    ["k8s.gcr.io/ingress-nginx/controller:v1.1.0", "ingress-nginx", "1.1.0"],
    ["traefik:v2.10-alpine", "traefik", "2.10"],
    ["docker.io/library/traefik:3", "traefik", "3"],
    ["localhost:5000/etcd:3.5.1-0", "etcd", "3.5.1"],
    ["registry.k8s.io/coredns/coredns:v1.11.1", "coredns", "1.11.1"],
    ["public.ecr.aws/karpenter/controller:1.0.1", "karpenter", "1.0.1"],
    ["istio/proxyv2:latest", "istio", ""],
  ];
  for (const [image, id, version] of cases) t.strictSame(recognize(image), { id, version }, image);
});

t.test("look-alikes and provider builds are not recognised", async (t) => {
  const images = [
    "ghcr.io/acme/my-cert-manager-controller:v1.13.2",
    "ghcr.io/jetstack-cert/manager-controller:v1",
    "ghcr.io/acme/traefik:v2",
    "acme/etcd:3.5",
    "602401143452.dkr.ecr.eu-west-1.amazonaws.com/eks/coredns:v1.11.1-eksbuild.4",
    "602401143452.dkr.ecr.cn-north-1.amazonaws.com.cn/eks/coredns/coredns:v1.11.1",
    "public.ecr.aws/eks-distro/coredns/coredns:v1.11.1",
    "gke.gcr.io/coredns/coredns:v1",
    "gcr.io/gke-release/istio/pilot:1.14",
    "mcr.microsoft.com/oss/kubernetes/coredns/coredns:v1.9",
    "nginx",
    "quay.io/jetstack/cert-manager-controller/extra:v1",
    "",
    ":::",
    "a//b",
    "has space/jetstack/cert-manager-controller",
  ];
  for (const image of images) t.equal(recognize(image), undefined, image);
});

t.test("image names are taken apart", async (t) => {
  t.strictSame(parseImageReference("h.example:5000/a/b:1.2@sha256:0123456789abcdef"), {
    host: "h.example:5000",
    segments: ["a", "b"],
    tag: "1.2",
    digest: "sha256:0123456789abcdef",
  });
  t.strictSame(parseImageReference("a/b")?.host, "", "a first segment without dot or colon is no host");
  t.equal(registryOf("nginx"), "docker.io");
  t.equal(registryOf("k8s.gcr.io/pause:3.2"), "k8s.gcr.io");
  t.equal(registryOf("//"), undefined);
});
