package io.waybill.worker;

import io.waybill.journal.Quota;
import io.waybill.journal.append.Journal;
import io.waybill.journal.recover.QueueBeginning;

/**
 * The two queues of a worker, as they were opened.
 *
 * @param quota of both
 * @param asking where the requests begin, as {@code responding} for the responses
 */
record OpenedQueues(
        Quota quota, Journal requests, Journal responses, QueueBeginning asking, QueueBeginning responding) {

    /** Returns why a queue needed a repair before; empty when none did. */
    String loss() {
        return (asking.loss() + " " + responding.loss()).trim();
    }
}
