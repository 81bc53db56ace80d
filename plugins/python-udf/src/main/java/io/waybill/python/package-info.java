/** The gateway for Python: the component, its settings and its socket. */
package io.waybill.python;
