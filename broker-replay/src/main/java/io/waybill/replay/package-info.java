/** Recorded requests run again on today's handlers or tomorrow's, and their outcomes compared with those on record. */
package io.waybill.replay;
