package io.waybill.autograd.graph;

/** Use of the graph after a pass. */
public enum GraphUse {

    /** The pass frees the tensors that the graph saved; a second pass over them fails. */
    RELEASE,

    /** The saved tensors stay until the context is closed: {@code retain_graph} in PyTorch. */
    RETAIN
}
