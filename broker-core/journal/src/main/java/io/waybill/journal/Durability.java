package io.waybill.journal;

/**
 * Durability of a worker's journal after a power cut or a kernel crash. All settings survive a process that is killed.
 */
public enum Durability {
    /** Nothing is synced: the last seconds may be lost. */
    PROCESS,
    /** Records are synced at an interval: at most those of one interval are lost, from the end. */
    INTERVAL,
    /** No record is acted on before it is on the disk: nothing that a peer has seen is lost. */
    EACH
}
