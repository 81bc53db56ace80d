package io.waybill.metrics.jmx;

import java.util.Map;

/** The figures of a worker for JMX. Counts begin at 0 with each incarnation of the worker. */
public interface WorkerMXBean {

    String getName();

    int getId();

    long getPid();

    long getEpoch();

    /** Returns the time at which the worker published these figures, in ms since 1970. */
    long getPublishedMs();

    /** Returns the number of completed requests of other workers. */
    long getServed();

    /** Returns the number of failed requests among them. */
    long getServedErrors();

    long getServedInFlight();

    long getParked();

    /** Returns the number of completed requests of this worker. */
    long getCalled();

    /** Returns the number of failed requests among them. */
    long getCalledErrors();

    long getCalledInFlight();

    /** Returns the median time of the requests that it served; 0 if there are none. */
    double getServedP50Ms();

    double getServedP99Ms();

    double getServedMaxMs();

    /** Returns the numbers of completed served requests, by operation. */
    Map<String, Long> getServedByOperation();

    /** Returns all other values, by name. */
    Map<String, Long> getValues();
}
