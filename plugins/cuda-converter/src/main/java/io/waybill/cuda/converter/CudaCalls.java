package io.waybill.cuda.converter;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import jcuda.CudaException;
import jcuda.driver.CUresult;

/** Calls of the driver's functions whose results are checked. Stateless. */
final class CudaCalls {

    private static final String OUT_OF_MEMORY = "CUDA_ERROR_OUT_OF_MEMORY";
    private static final String NOT_READY = "CUDA_ERROR_NOT_READY";

    private CudaCalls() {}

    /** A call of one function of the driver. */
    interface Call {

        /** Calls the function, and returns its result. */
        int run();
    }

    /**
     * Calls a function of the driver.
     *
     * @throws RejectedMessageException {@link ErrorCode#DEVICE_FULL} if memory is exhausted,
     *     {@link ErrorCode#DEVICE_LOST} for all other errors
     */
    static void check(Object device, String function, Call call) throws RejectedMessageException {
        check(device, function, error(call));
    }

    /** Calls a function that asks whether work is complete; throws like {@link #check}. */
    static boolean isReady(Object device, String function, Call call) throws RejectedMessageException {
        String error = error(call);
        if (error.startsWith(NOT_READY)) {
            return false;
        }
        check(device, function, error);
        return true;
    }

    private static void check(Object device, String function, String error) throws RejectedMessageException {
        if (!error.isEmpty()) {
            throw new RejectedMessageException(
                    error.startsWith(OUT_OF_MEMORY) ? ErrorCode.DEVICE_FULL : ErrorCode.DEVICE_LOST,
                    device + ": " + function + " failed: " + error);
        }
    }

    /** Calls a function of the driver, and returns the name of its error; empty if there is none. */
    static String error(Call call) {
        try {
            int result = call.run();
            return result == CUresult.CUDA_SUCCESS ? "" : CUresult.stringFor(result);
        } catch (CudaException e) { // JCuda has one switch for all its users, and another bundle may have set it
            return String.valueOf(e.getMessage());
        } catch (RuntimeException e) { // JCuda refused the arguments, or a storage has no address
            return e.toString();
        }
    }
}
