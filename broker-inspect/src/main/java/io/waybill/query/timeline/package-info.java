/** Recorded calls as bars over time: what a worker waited for, what its handlers ran, and which caused which. */
package io.waybill.query.timeline;
