def relu(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.relu_(input) if inplace else torch.relu(input)

def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.clamp_(input, 0, 6) if inplace else torch.clamp(input, 0, 6)

def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    return torch.leaky_relu_(input, negative_slope) if inplace else torch.leaky_relu(input, negative_slope)

def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return torch.elu_(input, alpha) if inplace else torch.elu(input, alpha)

def selu(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.selu_(input) if inplace else torch.selu(input)

def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return torch.celu_(input, alpha) if inplace else torch.celu(input, alpha)

def silu(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.silu_(input) if inplace else torch.silu(input)

def mish(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.mish_(input) if inplace else torch.mish(input)

def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    return torch.hardtanh_(input, min_val, max_val) if inplace else torch.hardtanh(input, min_val, max_val)

def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.hardswish_(input) if inplace else torch.hardswish(input)

def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.hardsigmoid_(input) if inplace else torch.hardsigmoid(input)

def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    return torch.threshold_(input, threshold, value) if inplace else torch.threshold(input, threshold, value)

def rrelu(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False, inplace: bool = False) -> Tensor:
    return torch.rrelu_(input, lower, upper, training) if inplace else torch.rrelu(input, lower, upper, training)

def tanhshrink(input: Tensor) -> Tensor:
    return input - input.tanh()

def softsign(input: Tensor) -> Tensor:
    return input / (input.abs() + 1)

def softmax(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
    return torch.softmax(input, __torch__.__waybill__.functional._dim(input, dim), dtype)

def log_softmax(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
    return torch.log_softmax(input, __torch__.__waybill__.functional._dim(input, dim), dtype)

def softmin(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
    return torch.softmax(-input, __torch__.__waybill__.functional._dim(input, dim), dtype)

def _dim(input: Tensor, dim: Optional[int]) -> int:
    if dim is not None:
        return dim
    return 0 if input.dim() in [0, 1, 3] else 1

def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    return torch.dropout_(input, p, training) if inplace else torch.dropout(input, p, training)

def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    return torch.alpha_dropout_(input, p, training) if inplace else torch.alpha_dropout(input, p, training)

def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    return torch.feature_dropout_(input, p, training) if inplace else torch.feature_dropout(input, p, training)

def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    length = torch.norm(input, p, [dim], True).clamp_min(eps)
    return input / length.expand_as(input)

def _reduction(name: str) -> int:
    if name == "none":
        return 0
    elif name == "mean":
        return 1
    elif name == "sum":
        return 2
    raise AssertionError(name + " is not a valid value for reduction")

def mse_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.mse_loss(input, target, __torch__.__waybill__.functional._reduction(reduction))

def l1_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.l1_loss(input, target, __torch__.__waybill__.functional._reduction(reduction))

def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    return torch.smooth_l1_loss(input, target, __torch__.__waybill__.functional._reduction(reduction), beta)

def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    return torch.huber_loss(input, target, __torch__.__waybill__.functional._reduction(reduction), delta)

def cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, ignore_index: int = -100, reduce: Optional[bool] = None, reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:
    return torch.cross_entropy_loss(input, target, weight, __torch__.__waybill__.functional._reduction(reduction), ignore_index, label_smoothing)

def nll_loss(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, ignore_index: int = -100, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.nll_loss_nd(input, target, weight, __torch__.__waybill__.functional._reduction(reduction), ignore_index)

def binary_cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.binary_cross_entropy(input, target, weight, __torch__.__waybill__.functional._reduction(reduction))

def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean", pos_weight: Optional[Tensor] = None) -> Tensor:
    return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, __torch__.__waybill__.functional._reduction(reduction))

def kl_div(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean", log_target: bool = False) -> Tensor:
    if reduction == "batchmean":
        return torch.kl_div(input, target, 2, log_target=log_target) / input.size(0)
    return torch.kl_div(input, target, __torch__.__waybill__.functional._reduction(reduction), log_target=log_target)

def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: Optional[bool] = None, eps: float = 1e-08, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.poisson_nll_loss(input, target, log_input, full, eps, __torch__.__waybill__.functional._reduction(reduction))

def soft_margin_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.soft_margin_loss(input, target, __torch__.__waybill__.functional._reduction(reduction))

def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.hinge_embedding_loss(input, target, margin, __torch__.__waybill__.functional._reduction(reduction))

def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.margin_ranking_loss(input1, input2, target, margin, __torch__.__waybill__.functional._reduction(reduction))

def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.cosine_embedding_loss(input1, input2, target, margin, __torch__.__waybill__.functional._reduction(reduction))

def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0, eps: float = 1e-06, swap: bool = False, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, __torch__.__waybill__.functional._reduction(reduction))

def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    return torch.multilabel_margin_loss(input, target, __torch__.__waybill__.functional._reduction(reduction))

def embedding(input: Tensor, weight: Tensor, padding_idx: Optional[int] = None, max_norm: Optional[float] = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    assert max_norm is None, "embedding with max_norm changes the weights, and is not available here"
    at = -1 if padding_idx is None else padding_idx
    return torch.embedding(weight, input, at, scale_grad_by_freq, sparse)

def layer_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-05) -> Tensor:
    return torch.layer_norm(input, normalized_shape, weight, bias, eps)

def batch_norm(input: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor], weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)

def group_norm(input: Tensor, num_groups: int, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-05) -> Tensor:
    return torch.group_norm(input, num_groups, weight, bias, eps, False)

def instance_norm(input: Tensor, running_mean: Optional[Tensor] = None, running_var: Optional[Tensor] = None, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    return torch.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False)

def adaptive_max_pool1d(input: Tensor, output_size: BroadcastingList1[int]) -> Tensor:
    return torch.adaptive_max_pool1d(input, output_size)[0]

def adaptive_max_pool2d(input: Tensor, output_size: BroadcastingList2[int]) -> Tensor:
    return torch.adaptive_max_pool2d(input, output_size)[0]

def _pair(value: Any) -> List[int]:
    if isinstance(value, int):
        return [value, value]
    elif isinstance(value, Tuple[int, int]):
        return [value[0], value[1]]
    assert isinstance(value, List[int]), "an int or two of them are expected"
    return value

def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    kernel = __torch__.__waybill__.functional._pair(kernel_size)
    space = __torch__.__waybill__.functional._pair(padding)
    step = __torch__.__waybill__.functional._pair(stride)
    return torch.im2col(input, kernel, __torch__.__waybill__.functional._pair(dilation), space, step)

def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    size = __torch__.__waybill__.functional._pair(output_size)
    kernel = __torch__.__waybill__.functional._pair(kernel_size)
    space = __torch__.__waybill__.functional._pair(padding)
    step = __torch__.__waybill__.functional._pair(stride)
    return torch.col2im(input, size, kernel, __torch__.__waybill__.functional._pair(dilation), space, step)

def _sizes(size: Any, count: int) -> Optional[List[int]]:
    if isinstance(size, int):
        return [size] * count
    elif isinstance(size, List[int]):
        return size
    elif isinstance(size, Tuple[int, int]):
        return [size[0], size[1]]
    return None

def _factors(factor: Any, count: int) -> Optional[List[float]]:
    if isinstance(factor, float):
        return [factor] * count
    elif isinstance(factor, int):
        return [float(factor)] * count
    elif isinstance(factor, List[float]):
        return factor
    elif isinstance(factor, Tuple[float, float]):
        return [factor[0], factor[1]]
    return None

def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Optional[bool] = None) -> Tensor:
    sizes = __torch__.__waybill__.functional._sizes(size, input.dim() - 2)
    factors = __torch__.__waybill__.functional._factors(scale_factor, input.dim() - 2)
    corners = False if align_corners is None else align_corners
    if mode == "nearest":
        if input.dim() == 3:
            return torch.upsample_nearest1d(input, sizes, factors)
        return torch.upsample_nearest2d(input, sizes, factors)
    if mode == "linear":
        return torch.upsample_linear1d(input, sizes, corners, factors)
    elif mode == "bilinear":
        return torch.upsample_bilinear2d(input, sizes, corners, factors)
    elif mode == "bicubic":
        return torch.upsample_bicubic2d(input, sizes, corners, factors)
    raise AssertionError("interpolate has no mode " + mode + " here: nearest, linear, bilinear or bicubic")

def affine_grid(theta: Tensor, size: List[int], align_corners: Optional[bool] = None) -> Tensor:
    return torch.affine_grid_generator(theta, size, False if align_corners is None else align_corners)

def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: Optional[bool] = None) -> Tensor:
    way = 0 if mode == "bilinear" else 1 if mode == "nearest" else 2
    padding = 0 if padding_mode == "zeros" else 1 if padding_mode == "border" else 2
    return torch.grid_sampler(input, grid, way, padding, False if align_corners is None else align_corners)
