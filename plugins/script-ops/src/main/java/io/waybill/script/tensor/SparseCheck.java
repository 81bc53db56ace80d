package io.waybill.script.tensor;

import org.bytedeco.pytorch.Dispatcher;
import org.bytedeco.pytorch.GenericList;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.LongList;
import org.bytedeco.pytorch.OperatorHandle;
import org.bytedeco.pytorch.Tensor;

/**
 * Lets libtorch look at the parts of a sparse tensor that came with a message, before anything computes with them: its constructors no
 * longer do, and a place outside of the sizes is written to or read from wherever that is.
 *
 * <p><b>Threads.</b> Any. <b>Lifetime.</b> Libtorch is loaded before this class is.
 */
final class SparseCheck {

    private static final OperatorHandle CHECK = find();

    private SparseCheck() {}

    private static OperatorHandle find() {
        OperatorHandle handle = Dispatcher.singleton().findSchemaOrThrow("aten::_validate_sparse_coo_tensor_args", "");
        handle.retainReference();
        return handle;
    }

    /** @throws RuntimeException libtorch's, when a place lies outside of the sizes, or those of a coalesced tensor are not in order */
    static void check(Tensor indices, Tensor values, long[] sizes, boolean isCoalesced) {
        IValueVector stack = new IValueVector();
        stack.push_back(new IValue(indices));
        stack.push_back(new IValue(values));
        stack.push_back(new IValue(new GenericList(new LongList(sizes))));
        stack.push_back(new IValue(isCoalesced));
        stack.push_back(new IValue());
        CHECK.callBoxed(stack);
    }
}
