package io.waybill.rref;

import io.waybill.api.CallException;
import io.waybill.api.ErrorCode;
import io.waybill.api.ErrorKind;
import io.waybill.api.MessageId;
import io.waybill.rref.id.RRefId;

/** Errors of references, with PyTorch's texts where it has one. */
public final class RRefErrors {

    /** Name of the operation that shares a reference. */
    public static final String FORK = "fork()";

    private static final String CREATION_TIMED_OUT = "RRef creation via rpc.remote() timed out, and it is possible that"
            + " the RRef on the owner node does not exist.";

    private RRefErrors() {}

    /** Returns the error of an operation on a reference that was released. */
    public static CallException deleted(Reference reference, String operation) {
        return error(
                ErrorCode.REFERENCE_DELETED,
                written(reference) + " has been deleted. Cannot call "
                        + (operation.equals(FORK)
                                ? "fork an UserRRef after deletion."
                                : operation + " on it after deletion."));
    }

    /** Returns a reference as PyTorch's errors write it, which is not how its references print. */
    public static String written(Reference reference) {
        return reference instanceof UserReference user
                ? "UserRRef(rref_id=" + user.id() + ", fork_id=" + user.fork() + ")"
                : reference.toString();
    }

    static CallException gone(RRefId rref, int owner) {
        return error(ErrorCode.REFERENCE_DELETED, "worker " + owner + " has dropped the value of " + rref);
    }

    static CallException neverCreated(RRefId rref, int creator) {
        return error(
                ErrorCode.REFERENCE_DELETED,
                rref + " was never created: worker " + creator + ", which was to ask for it, died");
    }

    static CallException ownerLost(RRefId rref, int owner) {
        return error(
                ErrorCode.OWNER_LOST,
                "worker " + owner + ", which owned " + rref + ", died, and its value is not kept");
    }

    /** Returns the error of a value that the owner had kept on the disk, and can't restore from there. */
    public static CallException notRestored(RRefId rref, int owner, String why) {
        return error(
                ErrorCode.OWNER_LOST,
                "worker " + owner + ", which owned " + rref + ", died, and can't get the value back that it had kept: "
                        + why);
    }

    /** Returns the error of a value that could not be written to the disk. */
    public static CallException notKept(RRefId rref, String why) {
        return error(ErrorCode.NOT_KEPT, "the value of " + rref + " can't be kept: " + why);
    }

    static CallException closed() {
        return error(ErrorCode.CLOSED, "this worker is closed");
    }

    static CallException waitedTooLong(RRefId rref) {
        return new CallException(
                ErrorKind.TIMEOUT,
                ErrorCode.TIMED_OUT,
                MessageId.NONE,
                ErrorKind.TIMEOUT.encode("the value of " + rref + " did not come before the deadline"));
    }

    /** Creates the error of a reference whose creation failed with this cause. */
    static CallException creationFailed(CallException why) {
        if (why.kind() == ErrorKind.UNKNOWN_ERROR) {
            return why;
        }
        return new CallException(why.kind(), why.code(), why.messageId(), CREATION_TIMED_OUT, why);
    }

    private static CallException error(ErrorCode code, String text) {
        return new CallException(ErrorKind.UNKNOWN_ERROR, code, MessageId.NONE, text);
    }
}
