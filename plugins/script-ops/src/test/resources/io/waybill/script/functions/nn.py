import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.functional import relu


# call: T([-1.0, 2.0])
def activations(x: Tensor):
    return F.relu(x), relu(x, inplace=False), functional.relu6(x * 9), F.leaky_relu(x, 0.1), F.elu(x), F.selu(x)


# call: T([-1.0, 2.0])
def smooth(x: Tensor):
    return F.gelu(x), F.silu(x), F.mish(x), F.softplus(x), F.softsign(x), F.tanhshrink(x), F.logsigmoid(x)


# call: T([-1.0, 0.2])
def hard(x: Tensor):
    return F.hardtanh(x), F.hardswish(x), F.hardsigmoid(x), F.hardshrink(x), F.softshrink(x), F.threshold(x, 0.1, 5.0)


# call: T([[1.0, 2.0], [3.0, 5.0]])
def softmaxes(x: Tensor):
    return F.softmax(x, dim=1), F.log_softmax(x, dim=0), F.softmin(x, dim=-1), nn.functional.softmax(x, 1)


# call: T([[1.0, 2.0]]), T([[0.5, 0.5], [1.0, -1.0]]), T([0.1, 0.2])
def linear(x: Tensor, weight: Tensor, bias: Tensor):
    return F.linear(x, weight, bias), torch.nn.functional.linear(x, weight)


# call: T([[1.0, 2.0], [3.0, 4.0]]), T([[1.5, 2.0], [2.0, 6.0]])
def losses(x: Tensor, y: Tensor):
    return F.mse_loss(x, y), F.l1_loss(x, y, reduction="sum"), F.smooth_l1_loss(x, y), F.huber_loss(x, y, delta=0.5)


# call: T([[1.0, 2.0, 0.5], [0.1, 0.2, 3.0]]), T([1, 2])
def classified(scores: Tensor, labels: Tensor):
    return F.cross_entropy(scores, labels), F.nll_loss(F.log_softmax(scores, 1), labels, reduction="none")


# call: T([0.2, 0.7]), T([0.0, 1.0])
def binary(x: Tensor, y: Tensor):
    return F.binary_cross_entropy(x, y), F.binary_cross_entropy_with_logits(x, y)


# call: T([[0.2, 0.8]]), T([[0.5, 0.5]])
def divergence(x: Tensor, y: Tensor):
    return F.kl_div(x.log(), y, reduction="batchmean"), F.kl_div(x.log(), y, reduction="sum")


# call: T([1.0, 2.0]), T([0.5, 3.0]), T([1.0, -1.0])
def ranked(a: Tensor, b: Tensor, y: Tensor):
    return F.margin_ranking_loss(a, b, y), F.soft_margin_loss(a, y), F.hinge_embedding_loss(a, y)


# call: T([[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]])
def pooled(x: Tensor):
    return F.max_pool2d(x, 2), F.avg_pool2d(x, 2, stride=1), F.adaptive_avg_pool2d(x, 1), F.adaptive_max_pool2d(x, 2)


# call: T([[[1.0, 2.0, 3.0, 4.0]]])
def pooled_lines(x: Tensor):
    return F.max_pool1d(x, 2), F.avg_pool1d(x, kernel_size=2), F.adaptive_avg_pool1d(x, 2)


# call: T([[[[1.0, 2.0], [3.0, 4.0]]]])
def convolved(x: Tensor):
    weight = torch.ones(1, 1, 2, 2)
    return F.conv2d(x, weight), F.conv2d(x, weight, padding=1, stride=2), F.conv_transpose2d(x, weight)


# call: T([[[1.0, 2.0, 3.0]]]), T([[[1.0, -1.0]]])
def convolved_lines(x: Tensor, weight: Tensor):
    return F.conv1d(x, weight), F.conv1d(x, weight, bias=None, padding=1)


# call: T([[1.0, 2.0], [3.0, 6.0]])
def normalized(x: Tensor):
    return F.layer_norm(x, (2,)), F.normalize(x, dim=1), F.batch_norm(x, torch.zeros(2), torch.ones(2))


# call: T([[[1.0, 2.0], [3.0, 6.0]]])
def grouped(x: Tensor):
    return F.group_norm(x, 2), F.instance_norm(x)


# call: T([0, 2]), T([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
def embedded(at: Tensor, table: Tensor):
    return F.embedding(at, table), F.one_hot(at, 3), F.one_hot(at)


# call: T([[1.0, 2.0]])
def padded(x: Tensor):
    return F.pad(x, [1, 1]), F.pad(x, (0, 1), value=9.0), F.pad(x, (1, 0), mode="constant")


# call: T([1.0, 2.0, 3.0])
def dropped(x: Tensor):
    return F.dropout(x, p=0.5, training=False), F.dropout(x, 0.0), F.alpha_dropout(x, training=False)


# call: T([[[[1.0, 2.0], [3.0, 4.0]]]])
def resized(x: Tensor):
    return F.interpolate(x, scale_factor=2.0), F.interpolate(x, size=(3, 3), mode="bilinear", align_corners=False)


# call: T([[[[1.0, 2.0], [3.0, 4.0]]]])
def folded(x: Tensor):
    return F.unfold(x, 2), F.fold(F.unfold(x, (1, 1)), (2, 2), 1), F.pixel_unshuffle(x, 2), F.pixel_shuffle(F.pixel_unshuffle(x, 2), 2)


# call: T([[1.0, 0.0]]), T([[1.0, 1.0]])
def distances(a: Tensor, b: Tensor):
    return F.cosine_similarity(a, b), F.pairwise_distance(a, b), torch.cdist(a, b)


# call: T([[1.0, 2.0]]), T([[1.0, 1.0]]), T([[4.0, 4.0]])
def triplets(a: Tensor, p: Tensor, n: Tensor):
    return F.triplet_margin_loss(a, p, n), F.cosine_embedding_loss(a, p, torch.ones(1))


# call: T([[1.0, 2.0]])
def two_layers(x: Tensor) -> Tensor:
    hidden = F.relu(F.linear(x, torch.ones(3, 2), torch.zeros(3)))
    return F.linear(hidden, torch.full((1, 3), 0.5))


# call: T([[1.0, 2.0, 3.0, 4.0]])
def gated(x: Tensor):
    return F.glu(x), F.prelu(-x, torch.tensor([0.25])), F.celu(-x), F.rrelu(-x)


# call: T([[[1.0, 0.0], [0.0, 1.0]]])
def attention(x: Tensor) -> Tensor:
    scores = torch.bmm(x, x.transpose(1, 2)) / x.size(-1) ** 0.5
    return torch.bmm(F.softmax(scores, dim=-1), x)
