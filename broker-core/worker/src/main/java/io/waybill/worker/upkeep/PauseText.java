package io.waybill.worker.upkeep;

/** Log line for a time in which this process did not run. Stateless. */
final class PauseText {

    private PauseText() {}

    /**
     * Returns the line.
     *
     * @param pausedMs time for which no thread of the housekeeper ran
     * @param collectedMs time for which the JVM collected garbage since shortly before
     */
    static String of(long pausedMs, long collectedMs) {
        boolean isCollection = collectedMs >= pausedMs / 2;
        return "This process did not run for " + pausedMs + " ms: "
                + (isCollection
                        ? "its JVM collected garbage for " + collectedMs
                                + " ms; give it more heap (-Xmx), or keep fewer objects alive"
                        : "it was stopped, its host was suspended, or gave it no processor");
    }
}
