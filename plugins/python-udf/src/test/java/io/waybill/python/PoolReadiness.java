package io.waybill.python;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.Invocation;
import io.waybill.api.MessageType;
import io.waybill.api.Request;
import io.waybill.testing.TestBroker;
import io.waybill.testing.core.Waits;
import java.util.List;
import java.util.Map;

/** When a change of the bundle's settings has come to the pool. Stateless. */
final class PoolReadiness {

    private static final Request NOTHING = Request.invocation(
            TestBroker.SERVER, MessageType.PYTHON_CALL, new Invocation("no:thing", List.of(), Map.of()));

    private PoolReadiness() {}

    /** Waits until the pool finds the package, which it does not before it has its settings. */
    static void await(TestBroker broker) {
        Waits.until("the pool has its settings", () -> {
            try {
                broker.caller().call(NOTHING).close();
                return true; // with an exception of the function
            } catch (CallException e) {
                return e.code() != ErrorCode.REFUSED;
            }
        });
    }
}
