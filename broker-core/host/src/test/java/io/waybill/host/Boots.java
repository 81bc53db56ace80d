package io.waybill.host;

/** Hosts that were restarted, as far as processes can tell. */
public final class Boots {

    private Boots() {}

    /** The same host in the boot with this id. */
    public static Host in(Host host, String id) {
        return host.withProcesses(new InBoot(host.processes(), id));
    }

    private record InBoot(Processes real, String id) implements Processes {
        @Override
        public ProcessIdentity self() {
            ProcessIdentity self = real.self();
            return new ProcessIdentity(self.pid(), self.startTime(), id, self.pidNamespace(), self.uid());
        }

        @Override
        public Liveness liveness(ProcessIdentity process) {
            return process.bootId().equals(id) ? Liveness.ALIVE : Liveness.DEAD;
        }
    }
}
