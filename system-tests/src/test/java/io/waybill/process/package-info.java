/** Programs of the tests in JVMs of their own. */
package io.waybill.process;
