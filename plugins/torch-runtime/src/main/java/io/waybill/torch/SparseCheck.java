package io.waybill.torch;

import org.bytedeco.pytorch.Dispatcher;
import org.bytedeco.pytorch.GenericList;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.LongList;
import org.bytedeco.pytorch.OperatorHandle;
import org.bytedeco.pytorch.Tensor;

/**
 * Lets libtorch check the parts of a received sparse tensor before they are used: its constructors no longer do, and an
 * index out of bounds accesses arbitrary memory.
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

    /**
     * Checks the parts.
     *
     * @throws RuntimeException libtorch's, when an index is out of bounds, or those of a coalesced tensor are not
     * sorted
     */
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
