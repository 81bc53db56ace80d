package io.waybill.metrics.jmx;

import java.util.Map;

/** The figures of a worker for JMX. Counts begin at 0 with each incarnation of the worker. */
public interface WorkerMXBean {

    String getName();

    int getId();

    long getPid();

    long getEpoch();

    /** When the worker published these figures, in ms since 1970. */
    long getPublishedMs();

    /** Requests of others that have their outcome. */
    long getServed();

    /** Those of them that failed. */
    long getServedErrors();

    long getServedInFlight();

    long getParked();

    /** Requests of this worker that have their outcome. */
    long getCalled();

    /** Those of them that failed. */
    long getCalledErrors();

    long getCalledInFlight();

    /** The median time of the requests that it served; 0 for none. */
    double getServedP50Ms();

    double getServedP99Ms();

    double getServedMaxMs();

    /** Served requests that have their outcome, by operation. */
    Map<String, Long> getServedByOperation();

    /** All other values, by name. */
    Map<String, Long> getValues();
}
