/** The control messages between owners and users, and when they are sent again. */
package io.waybill.rref.control;
