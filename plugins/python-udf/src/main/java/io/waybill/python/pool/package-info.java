/** Python processes that the gateway starts, one call at a time each. */
package io.waybill.python.pool;
