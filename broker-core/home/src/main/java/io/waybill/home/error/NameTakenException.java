package io.waybill.home.error;

/** Thrown when a live worker has the name. */
public final class NameTakenException extends HomeException {
    private static final long serialVersionUID = 1L;

    private final String name;
    private final long pid;

    public NameTakenException(String name, long pid, String message) {
        super(message);
        this.name = name;
        this.pid = pid;
    }

    public String name() {
        return name;
    }

    /** Returns the pid of the holder; 0 when it is not published yet. */
    public long pid() {
        return pid;
    }
}
