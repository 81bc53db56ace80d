package io.waybill.syscall;

import io.waybill.journal.Durability;
import io.waybill.process.SyscallFaults.Extent;
import io.waybill.process.SyscallFaults.Failing;

/** Which system call of a scenario fails. */
record FaultCase(Durability durability, Failing failing, long nth, Extent extent) {

    @Override
    public String toString() {
        return durability + " " + failing.call() + " errno=" + failing.errno() + " nth=" + nth + " " + extent;
    }
}
